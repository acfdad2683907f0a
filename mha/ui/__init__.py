"""The only Streamlit code outside app.py and pages/."""
