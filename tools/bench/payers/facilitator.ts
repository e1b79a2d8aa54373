import { parentPort } from 'node:worker_threads'
import { startFacilitator } from '#test/x402/reference-facilitator.ts'

/** The reference's facilitator on a thread of its own, for the node that it is told. */
const facilitator = await startFacilitator()
parentPort?.on('message', (rpcUrl: string) => facilitator.follow(rpcUrl))
parentPort?.postMessage(facilitator.url)
