-- All counters and all that can happen to them, for the operations that need more than a check.

-- @include counters
-- @include bucket-back
-- @include window-back
-- @include sliding-back
-- @include entries
-- @include receipts

kinds.slidingWindowLog, kinds.concurrency = entries, entries
