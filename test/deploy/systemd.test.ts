import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { findSystemdAnalyze } from './systemd-analyze.ts'

const run = promisify(execFile)
const FOLDER = join(import.meta.dirname, '../../deploy/systemd')
const UNITS = readdirSync(FOLDER).filter((name) => name.endsWith('.service'))

describe('the systemd units', () => {
  let analyze: string
  before(async () => {
    analyze = await findSystemdAnalyze()
  })

  it('are four, and systemd finds nothing wrong with them', async () => {
    assert.equal(UNITS.length, 4)
    const files = UNITS.map((name) => join(FOLDER, name))
    const { stdout, stderr } = await run(analyze, ['verify', '--man=no', ...files])
    // Whether this machine has Node there is not what is tested.
    const complaints = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => !line.includes('/usr/bin/node'))
    assert.deepEqual(
      complaints.filter((line) => line !== ''),
      [],
    )
  })

  for (const name of UNITS)
    it(`${name} exposes little: below 2 of 10`, async () => {
      const { stdout } = await run(analyze, [
        ...['security', '--offline=true', '--threshold=20', '--no-pager', join(FOLDER, name)],
      ])
      assert.match(stdout, /Overall exposure level for \S+: [01]\.\d/)
    })
})
