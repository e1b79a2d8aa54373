import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { startWorld, type World } from '#test/world.ts'

const run = promisify(execFile)
const read = (name: string) => readFile(join(import.meta.dirname, name), 'utf8')

/** Debian's; root gets pandas installed there once, some 15 MB. */
const PYTHON = '/usr/bin/python3'
const INSTALL =
  'apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-pandas'

function hasPandas(): boolean {
  const isThere = () => spawnSync(PYTHON, ['-c', 'import pandas']).status === 0
  if (isThere()) return true
  if (process.getuid?.() === 0) spawnSync('/bin/sh', ['-c', INSTALL], { stdio: 'ignore' })
  return isThere()
}

describe('the examples that read, each under 60 lines', () => {
  let world: World
  before(async () => {
    world = await startWorld({ historyDays: 40 })
  })
  after(() => world.stop())

  it('pandas: burns by month add up to those of the answer', async (context) => {
    if (!hasPandas()) return context.skip(`${PYTHON} has no pandas`)
    const file = join(import.meta.dirname, 'burns_by_month.py')
    const { stdout } = await run(PYTHON, [file, world.origin])
    const [, , ...months] = stdout.trimEnd().split('\n')
    assert.ok(months.length >= 2, stdout)
    const counted = months.map((row) => Number(row.trim().split(/\s+/)[3]))
    const { body } = await world.api.get('/api/burns?period=365d')
    const days: readonly { complete: boolean; burnCount: number }[] = body.data
    assert.equal(
      counted.reduce((sum, count) => sum + count),
      days.reduce((sum, { complete, burnCount }) => sum + (complete ? burnCount : 0), 0),
    )
  })

  it('Grafana: each panel finds its columns in the answer', async () => {
    const { panels } = JSON.parse(await read('grafana.json'))
    assert.equal(panels.length, 2)
    for (const { title, targets } of panels)
      for (const { url, root_selector, columns } of targets) {
        const { body } = await world.api.get(url.replace(/^\$\{api\}/, ''))
        const [row] = body[root_selector]
        for (const { selector, type } of columns) {
          const value = type === 'timestamp' ? Date.parse(row[selector]) : row[selector]
          if (type === 'number') assert.ok(Number.isFinite(Number(value)), `${title}: ${selector}`)
          assert.ok(value, `${title}: ${selector}`)
        }
      }
  })

  it('Google Sheets: what each cell imports is a number, or CSV with a head', async () => {
    const paths = [...(await read('sheet.csv')).matchAll(/IMPORTDATA\(B2&""([^"]+)""\)/g)]
    assert.equal(paths.length, 3)
    for (const [, path = ''] of paths) {
      // Sheets asks for anything.
      const answer = await fetch(world.origin + path, { headers: { Accept: '*/*' } })
      const text = await answer.text()
      assert.equal(answer.status, 200, path)
      assert.match(text, path.endsWith('csv') ? /^date,.*\r\n\d{4}-\d\d-\d\d,/ : /^[\d.]+$/, path)
    }
  })

  it('are short', async () => {
    for (const name of ['burns_by_month.py', 'grafana.json', 'sheet.csv', 'agent.js'])
      assert.ok((await read(name)).split('\n').length <= 60, name)
  })
})
