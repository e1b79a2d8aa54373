import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { mine } from '#devnet/actions.ts'
import { isLongVersion } from './long-version.ts'
import { startPostgres } from './postgres.ts'
import { eventually, type MintedKey, mintKey, startWorld, type World } from './world.ts'

/** Many calls at once for the last unit of a quota that two keys share. */
const postgres = await startPostgres()
after(() => postgres.stop())

const FREE_QUOTA = 3
const CALLS = 200

for (const engine of isLongVersion
  ? (['PostgreSQL', 'SQLite'] as const)
  : (['PostgreSQL'] as const))
  describe(engine, () => {
    let world: World
    before(async () => {
      world = await startWorld({
        ...(engine === 'PostgreSQL' && { databaseUrl: await postgres.createDatabase() }),
        change: (file) => ({ ...file, quotas: { ...file.quotas, free: FREE_QUOTA } }),
      })
      await mine(world.devnet.chains.base.client, { blocks: 1 })
      await mine(world.devnet.chains.ethereum.client, { blocks: 1 })
    })
    after(() => world.stop())

    test(`${engine}: ${CALLS} calls at one remaining unit, with two keys and mixed HEAD and GET, admit exactly one`, async () => {
      const { api, devnet } = world
      const mint = () => mintKey(api, devnet.wallets.holder).catch(() => undefined)
      const first = await eventually(mint, 10_000)
      const second = await eventually(mint, 10_000)
      for (let used = 1; used < FREE_QUOTA; used += 1)
        assert.equal((await api.get('/api/burns/total', first.authorization)).status, 200)
      const statuses = await callAtOnce(world, [first, second])
      assert.equal(statuses.filter((status) => status === 200).length, 1)
      assert.equal(statuses.filter((status) => status === 402).length, CALLS - 1)
      const { body } = await api.get('/api/usage', second.authorization)
      assert.equal(body.requestCount, FREE_QUOTA)
      assert.equal(body.remaining, 0)
    })
  })

function callAtOnce({ origin }: World, keys: readonly MintedKey[]): Promise<number[]> {
  const calls = Array.from({ length: CALLS }, async (_, index) => {
    const key = keys[index % keys.length]
    const response = await fetch(`${origin}/api/burns/total`, {
      method: index % 3 === 0 ? 'HEAD' : 'GET',
      headers: { ...key?.authorization },
    })
    await response.arrayBuffer()
    return response.status
  })
  return Promise.all(calls)
}
