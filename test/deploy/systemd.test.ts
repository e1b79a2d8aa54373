import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { findSystemdAnalyze } from './systemd-analyze.ts'

const run = promisify(execFile)
const FOLDER = join(import.meta.dirname, '../../deploy/systemd')
const PACKAGED_NODE = '/opt/sexton/node_modules/node/bin/node'
const UNITS = readdirSync(FOLDER).filter((name) => name.endsWith('.service'))

describe('the systemd units', () => {
  let analyze: string
  let folder: string
  before(async () => {
    analyze = await findSystemdAnalyze()
    folder = await mkdtemp(join(tmpdir(), 'sexton-units-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('are three, and systemd finds nothing wrong with them', async () => {
    assert.equal(UNITS.length, 3)
    // Whether this machine has the package there is not what is tested.
    const files = await Promise.all(
      UNITS.map(async (name) => {
        const unit = await readFile(join(FOLDER, name), 'utf8')
        await writeFile(join(folder, name), unit.replaceAll(PACKAGED_NODE, process.execPath))
        return join(folder, name)
      }),
    )
    const { stdout, stderr } = await run(analyze, ['verify', '--man=no', ...files])
    assert.equal(`${stdout}${stderr}`, '')
  })

  for (const name of UNITS)
    it(`${name} exposes little: below 2 of 10`, async () => {
      const { stdout } = await run(analyze, [
        ...['security', '--offline=true', '--threshold=20', '--no-pager', join(FOLDER, name)],
      ])
      assert.match(stdout, /Overall exposure level for \S+: [01]\.\d/)
    })
})
