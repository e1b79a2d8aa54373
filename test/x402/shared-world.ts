import { after, before } from 'node:test'
import { eitherEngine } from '../long-version.ts'
import { proxiedWorlds, type X402World } from './x402-world.ts'

const worlds = new Map<(typeof eitherEngine)[number], X402World>()

/** The service that tests of payments share. Each test has wallets, addresses and keys of its own. */
export function sharedWorld(engine: (typeof eitherEngine)[number]): X402World {
  const world = worlds.get(engine)
  if (world === undefined) throw new Error(`the service on ${engine} is not started`)
  return world
}

after(async () => {
  for (const world of worlds.values()) await world.stop()
})
const startProxied = await proxiedWorlds()
before(async () => {
  const environment = { SEXTON_METRICS_PORT: '0' }
  for (const engine of eitherEngine) worlds.set(engine, await startProxied(engine, { environment }))
})
