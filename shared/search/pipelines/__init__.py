"""Search modules put together under a name of their own; and the settings of plans.

`plan_settings.py` is of every search: it stands here for the modes of pipelines.
"""
