import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { getMeter } from '#accounts/metering/meter/meter.ts'
import { systemClock } from '#base/time.ts'
import { readConfig } from '#config.ts'
import type { Context } from '#context.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { compose, type Served, serve } from '#main/serve.ts'
import { openStores, type Stores } from '#main/stores.ts'

const logger = { debug() {}, info() {}, warn() {}, error: assert.fail }
const DOCUMENT = readFileSync(join(import.meta.dirname, '../../../docs/metrics.md'), 'utf8')

describe('the metrics of a service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-metrics-'))
  let stores: Stores
  let ctx: Context
  let served: Served

  before(async () => {
    const environment = { PORT: '0', SEXTON_METRICS_PORT: '0', SEXTON_DATA: folder }
    const config = readConfig(environment, { isTty: false })
    const ecosystem = parseEcosystem('local', localEcosystem)
    stores = await openStores(config, ecosystem)
    ctx = { config, clock: systemClock, logger, ecosystem, ...stores }
    served = await serve(ctx, await compose(ctx))
  })
  after(async () => {
    await served.stop()
    await stores.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const scrape = async () => (await fetch(`http://127.0.0.1:${served.metricsPort}/metrics`)).text()
  const value = async (series: string) => {
    const line = (await scrape()).split('\n').find((each) => each.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.split(' ')[1])
  }

  it('are those of the document, with their types, and no others', async () => {
    const text = await scrape()
    const shown = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(
      ([, name, type]) => `${name} ${type}`,
    )
    const rows = [...DOCUMENT.matchAll(/^\| `(\w+)` +\| (\w+) /gm)]
    const documented = rows.map(([, name, type]) => `${name} ${type}`)
    assert.deepEqual(documented.toSorted(), shown.toSorted())
    const named = [...DOCUMENT.matchAll(/`((?:sexton|process)_\w+)`/g)].map(([, name]) => name)
    const known = new Set(rows.map(([, name]) => name))
    assert.deepEqual(
      named.filter((name) => !known.has(name)),
      [],
    )
  })

  it('count the durable commits of the meter, and the calls that wait for one', async () => {
    assert.equal(await value('sexton_meter_commit_seconds_count'), 0)
    await getMeter(ctx).admit({
      kind: 'anonymous',
      identity: 'ip:a',
      bucket: 'a',
      tier: 'anonymous',
      dailyQuota: 1,
    })
    const commits = await value('sexton_meter_commit_seconds_count')
    assert.ok((commits ?? 0) > 0)
    assert.ok(((await value('sexton_meter_commit_seconds_sum')) ?? 0) > 0)
    assert.equal(await value('sexton_meter_waiting_calls'), 0)
  })

  it('show that nothing indexes or verifies, so the service is not ready', async () => {
    assert.equal(await value('sexton_leads{of="index"}'), 0)
    assert.equal(await value('sexton_leads{of="jobs"}'), 0)
    assert.equal(await value('sexton_ready'), 0)
  })

  it('show a sum of the ledger and its age', async () => {
    await scrape()
    while ((await value('sexton_ledger_difference_micro_usd')) === undefined);
    assert.equal(await value('sexton_ledger_difference_micro_usd'), 0)
    assert.ok(((await value('sexton_ledger_checked_age_seconds')) ?? 99) < 60)
  })
})
