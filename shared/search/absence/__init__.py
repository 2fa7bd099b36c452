"""Why a page is empty: what was searched, what is unknown, what came near.

Hits without an answer are judged in `shared/answers/choice/answer_status.py` and told
of in `shared/answers/compose_answer.py`; a stored answer whose entries were taken away
since, in `shared/search/response/seen_again.py`.
"""
