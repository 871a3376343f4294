"""The commands, in modules by what one wants, as ``dslog --help`` groups them.

=========== ==========================================
module      commands
=========== ==========================================
``make``    ``init``, ``ingest``
``look``    ``ls``, ``show``, ``stats``
``reuse``   ``reuse``
``query``   ``query``, ``explain``
``debug``   ``why``, ``impact``, ``dropped``,
            ``first-nan``, ``diff``
``keep``    ``verify``, ``gc``
``demo``    ``demo``
``version`` ``version``
=========== ==========================================

Each has a ``commands`` app, which ``dslog.cli.main`` finds; see ``dslog.cli.command``.
"""
