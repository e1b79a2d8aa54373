import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { openLogger } from './logger.ts'

const secret = `svc_0123abcd_${'0f'.repeat(16)}`

function capture() {
  const lines: string[] = []
  const output = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return { lines, output }
}

describe('the log', () => {
  for (const format of ['json', 'pretty'] as const)
    it(`F1: a secret leaves in no field, message or stack trace (${format})`, async () => {
      const { lines, output } = capture()
      const logger = openLogger({ level: 'info', format }, output)
      const error = new Error(`bad key ${secret}`, { cause: new Error(secret) })
      logger.error({ err: error, headers: { authorization: `Bearer ${secret}` } }, secret)
      logger.info('connecting to postgres://me:hunter2@db/x')
      for (const password of ['correct horse', 'p@ss horse', "horse's"])
        logger.info(`connecting to postgres://me:${password}@db/x as planned`)
      const text = lines.join('')
      assert.ok(text.includes('svc_0123abcd_[redacted]'))
      assert.ok(!text.includes('0f0f0f'))
      assert.ok(!text.includes('hunter2'))
      assert.ok(!text.includes('horse'))
      assert.equal(text.split('postgres://me:[redacted]@db/x as planned').length, 4)
    })

  it('H7: a text with a line break stays one line', async () => {
    const { lines, output } = capture()
    const logger = openLogger({ level: 'info', format: 'json' }, output)
    logger.info({ label: 'a\n{"level":60}' }, 'x\ny')
    assert.equal(lines.join('').trimEnd().split('\n').length, 1)
  })
})
