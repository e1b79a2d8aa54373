import assert from 'node:assert/strict'
import type { EndpointStatus } from '#chains/chain/chain-source.ts'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { systemClock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { readinessOf } from '#test/readiness-harness.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { createNodeStates } from './node-states.ts'

const onEngines = eachEngine(startPostgres, registerMigrations)

const endpoint = (host: string, state: EndpointStatus['state'], reason: string | null) => ({
  ...{ host, state, reason, preferred: true, headNumber: 1, requests: 1, refused: 0, failed: 0 },
  ...{ bytesReceived: 0, inFlight: 0, limit: 1, p95Ms: null, rangeMax: null },
})

/** What a process without an index says, once the leading one has noted its nodes. */
async function readNodes(
  register: Engine,
  input: { readonly endpoints: readonly EndpointStatus[]; readonly nowMs: number },
) {
  await createNodeStates({
    register,
    clock: () => input.nowMs,
    chainIds: [8453],
    endpoints: () => input.endpoints,
  })()
  const ecosystem = localEcosystemAt({ base: 'http://127.0.0.1:8545' })
  const { parts } = await readinessOf(register, ecosystem)
  const nodes = Object.entries(parts).filter(([name]) => name.startsWith('node '))
  return Object.fromEntries(nodes)
}

onEngines('every process names the nodes as the leading index noted them', async ({ engine }) => {
  const endpoints = [
    endpoint('a.example', 'ok', null),
    endpoint('b.example', 'failing', 'HTTP 503'),
  ]
  assert.deepEqual(await readNodes(engine, { endpoints, nowMs: systemClock() }), {
    'node a.example of base': 'ok',
    'node b.example of base': 'failing: HTTP 503',
  })
})

onEngines(
  'nodes that no index notes any more are shown with the time of the note',
  async ({ engine }) => {
    const endpoints = [endpoint('a.example', 'ok', null)]
    const nowMs = Date.parse('2026-01-02T03:04:05Z')
    assert.deepEqual(await readNodes(engine, { endpoints, nowMs }), {
      'node a.example of base': 'ok at 2026-01-02T03:04:05Z; no index has noted it since',
    })
  },
)
