/**
 * Preloaded into an index process (`node --import`): its clock runs ahead of the real one, from the
 * same moment in every process, so that commits that come every few seconds come every few
 * milliseconds, and that the lease of a killed process is over when the next one starts. Timers keep
 * to real time.
 */
const FASTER = 200

const startMs = Number(process.env.FAST_CLOCK_START_MS)
if (!Number.isFinite(startMs)) throw new Error('FAST_CLOCK_START_MS must say when the test began')
const realNow = Date.now
Date.now = () => Math.floor(startMs + (realNow() - startMs) * FASTER)
