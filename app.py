"""The router: the table of pages, in the order a course takes them."""

import streamlit as st

PAGES = [
    st.Page("pages/heads.py", title="Heads", default=True),
]

st.navigation(PAGES, position="top").run()
