FROM python:3.13-slim

WORKDIR /app

# The CPU build: plain "torch" would add gigabytes of CUDA. A layer of its own, since it is large and seldom changes.
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu torch==2.13.0+cpu

# The fonts of the PNGs: the slim image has none.
COPY packages.txt ./
RUN apt-get update \
    && xargs apt-get install --yes --no-install-recommends < packages.txt \
    && rm -rf /var/lib/apt/lists/*

COPY requirements.txt ./
RUN pip install --no-cache-dir -r requirements.txt

COPY .streamlit .streamlit
COPY mha mha
COPY pages pages
COPY app.py ./

# The app writes nothing, so its user owns none of its files. A number, since Kubernetes checks no names.
RUN useradd --create-home --uid 10001 headlight
USER 10001

EXPOSE 8501

# The slim image has no curl.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]

# The welcome message is off because it would ask an outside service for this machine's address.
CMD ["python", "-m", "streamlit", "run", "app.py", \
     "--server.address=0.0.0.0", "--server.port=8501", "--server.headless=true", \
     "--server.fileWatcherType=none", "--logger.hideWelcomeMessage=true"]
