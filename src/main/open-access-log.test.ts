import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
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

  it('is opened anew on SIGHUP, so that it can be rotated', async () => {
    const output = await openAccessLog(silent, { file })
    renameSync(file, `${file}.1`)
    process.emit('SIGHUP')
    await eventually(async () => readIfThere(file) !== undefined || undefined, 5_000)
    output.write('third\n')
    await output.close()
    assert.equal(readIfThere(file), 'third\n')
    assert.equal(process.listenerCount('SIGHUP'), 0)
  })

  it('that cannot be opened ends the start, and the error names the setting', async () => {
    await assert.rejects(
      openAccessLog(silent, { file: folder }),
      (error) => error instanceof SettingsError && error.message.startsWith('SEXTON_ACCESS_LOG: '),
    )
  })
})

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
