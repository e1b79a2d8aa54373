import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { eventually } from '#test/world.ts'
import { openAccessLog } from './open-access-log.ts'
import { SettingsError } from './settings-error.ts'

const silent = { logger: { info() {}, warn() {}, error() {} }, clock: () => 0 }

describe('the file of the access log', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-access-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'logs', 'access.log')

  it('is appended to, and has every line once it is closed', async () => {
    for (const text of ['first\n', 'second\n']) {
      const output = await openAccessLog(silent, { file })
      output.write(text)
      await output.close()
    }
    assert.equal(readFileSync(file, 'utf8'), 'first\nsecond\n')
  })

  it('can be truncated while it is open, as logrotate does with copytruncate', async () => {
    const output = await openAccessLog(silent, { file })
    output.write('third\n')
    await eventually(async () => readFileSync(file, 'utf8').includes('third') || undefined, 5_000)
    truncateSync(file)
    output.write('fourth\n')
    await output.close()
    assert.equal(readFileSync(file, 'utf8'), 'fourth\n')
  })

  it('that cannot be opened ends the start, and the error names the setting', async () => {
    await assert.rejects(
      openAccessLog(silent, { file: folder }),
      (error) => error instanceof SettingsError && error.message.startsWith('SEXTON_ACCESS_LOG: '),
    )
  })
})
