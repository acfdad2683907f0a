"""The floor: a Streamlit page that shows the text it was given and does nothing else."""

import streamlit as st

text = st.text_input("Your text", "x", key="text", live="300ms")
st.html(f'<p id="said">{text}</p>')
