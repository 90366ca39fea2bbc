"""The paper's figures and tables, measured on a user's models and text."""
