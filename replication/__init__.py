"""Our own campaign: the real CIFAR-100 on two cores, replicated, and a study of the walk.

What is run, what it found and the pages that say so; under ``results`` and ``embeddings`` what is
published of it. It needs the extra ``train`` and is no part of the wheel.
"""
