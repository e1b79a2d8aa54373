/**
 * Preloaded into a role (`node --import`): its clock is `CLOCK_AHEAD_MS` ahead of the real one, so
 * that the leases of a role that was killed are over when the next one starts.
 */
const aheadMs = Number(process.env.CLOCK_AHEAD_MS)
if (!Number.isFinite(aheadMs)) throw new Error('CLOCK_AHEAD_MS must say how far ahead')
const realNow = Date.now
Date.now = () => realNow() + aheadMs
