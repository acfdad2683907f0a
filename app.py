"""The router: the table of pages, in the order a course takes them."""

import streamlit as st

PAGES = [
    st.Page("pages/heads.py", title="Heads", default=True),
    st.Page("pages/steps.py", title="Steps"),
    st.Page("pages/masks.py", title="Masks"),
    st.Page("pages/cross.py", title="Cross-attention"),
    st.Page("pages/restriction.py", title="Restriction"),
    st.Page("pages/translate.py", title="Translate"),
]

st.navigation(PAGES, position="top").run()
