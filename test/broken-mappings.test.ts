import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { auditService } from './audit-service.ts'
import { eitherEngine } from './long-version.ts'
import { startPostgres } from './postgres.ts'
import { startWorld, type World } from './world.ts'

/** A file whose first dividend mapping does not fit the contract's event. */

const postgres = await startPostgres()
after(() => postgres.stop())

/** The contract emits the account as a topic; the mapping expects it in the data. */
function broken(file: EcosystemFile): EcosystemFile {
  const [first, ...others] = file.dividends ?? []
  assert.ok(first !== undefined)
  const event = 'event DividendClaimed(address account, address indexed token, uint256 amount)'
  return { ...file, dividends: [{ ...first, event }, ...others] }
}

const REASON = /DividendClaimed of 0x[0-9a-f]{40} does not fit its ABI/

for (const engine of eitherEngine)
  describe(engine, () => {
    let world: World
    before(async () => {
      const databaseUrl = engine === 'PostgreSQL' ? await postgres.createDatabase() : undefined
      world = await startWorld({
        change: broken,
        environment: { SEXTON_METRICS_PORT: '0' },
        ...(databaseUrl !== undefined && { databaseUrl }),
      })
    })
    after(() => world.stop())

    test(`${engine}: unreadable logs are reported by mapping in readiness, meta and metrics`, async () => {
      const { parts } = (await world.api.get('/readyz')).body
      assert.match(
        parts['logs of dividends[0] on base'],
        /^[0-9]+ logs could not be decoded, the last/,
      )
      assert.match(parts['logs of dividends[0] on base'], REASON)
      const [anomalies, ...more] = (await world.api.get('/api/meta')).body.anomalies
      assert.deepEqual(more, [])
      assert.deepEqual([anomalies.mapping, anomalies.chain], ['dividends[0]', 'base'])
      assert.ok(anomalies.logs > 0)
      const port = world.service.served.metricsPort
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      assert.match(metrics, /^sexton_unreadable_logs\{of="base dividends\[0\]"\} [1-9][0-9]*$/m)
    })

    test(`${engine}: an audit with unreadable logs is never ok`, async () => {
      const [difference, ...more] = await auditService(world)
      assert.deepEqual(more, [])
      assert.match(difference ?? '', /^dividends\[0\] on base: [0-9]+ logs could not be decoded/)
    })
  })
