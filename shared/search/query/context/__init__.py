"""What a question, its page and its asker make of an order: factors of single hits.

The weights of whole lists, one for each module: `weights` in `ranking/fusion.py`.
"""
