import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import { markdownPage } from '#api/pages.ts'
import { reportFailure } from '#api/wire.ts'
import { REFUSALS } from '#base/refusal.ts'
import { PREPAYMENT_MESSAGES } from '#payments/prepayments/prepay-routes.ts'
import { testCall } from '#test/test-call.ts'
import { testContext } from '#test/test-context.ts'

const folder = join(import.meta.dirname, '../../docs/errors')

describe('the error pages', () => {
  it('every code, also of a prepayment, has a page and every page a code', async () => {
    const pages = (await readdir(folder)).map((file) => file.replace(/\.md$/, ''))
    assert.deepEqual(pages.sort(), [...Object.keys(REFUSALS), ...PREPAYMENT_MESSAGES].sort())
  })

  it('a page is made once, since it costs more than a call, and its headings have anchors', async (context) => {
    const own = await mkdtemp(join(tmpdir(), 'pages-'))
    context.after(() => rm(own, { recursive: true, force: true }))
    await writeFile(join(own, 'once.md'), '# Once\n\n## What is `a`, and why\n')
    const page = markdownPage('/{name}', own, { names: ['once'], missing: '' })
    const call = testCall({ headers: { accept: 'text/html' }, path: { name: 'once' } })
    const read = async () => {
      const answered = await page.read(call)
      return 'body' in answered && answered.body
    }
    const first = await read()
    assert.match(String(first), /<h2 id="what-is-a-and-why">What is <code>a<\/code>, and why<\/h2>/)
    await rm(join(own, 'once.md'))
    assert.equal(await read(), first)
  })

  for (const [code, { status, title }] of Object.entries(REFUSALS))
    it(`the page of ${code} has status, cause and remedy`, async () => {
      const text = await readFile(join(folder, `${code}.md`), 'utf8')
      assert.ok(text.startsWith(`# ${code}\n`))
      assert.ok(text.includes(`**${status} ${title}.**`))
      for (const part of ['## Cause', '## What to do']) assert.ok(text.includes(part))
    })

  for (const message of PREPAYMENT_MESSAGES)
    it(`the page of ${message} has status, cause and remedy`, async () => {
      const text = await readFile(join(folder, `${message}.md`), 'utf8')
      assert.ok(text.startsWith(`# ${message}\n`))
      for (const part of ['**Status `', '## Cause', '## What to do']) assert.ok(text.includes(part))
    })
})

test('a flood of errors is a few lines and a count of the rest', () => {
  const errors: unknown[] = []
  const warnings: unknown[] = []
  let now = 0
  const silent = () => undefined
  const ctx = testContext({
    logger: {
      debug: silent,
      info: silent,
      error: (line: unknown) => void errors.push(line),
      warn: (line: unknown) => void warnings.push(line),
    },
    clock: () => now,
  })
  now = 20_000
  for (let count = 0; count < 500; count += 1) reportFailure(ctx, new Error('down'), 'id')
  assert.equal(errors.length, 20)
  now = 30_000
  reportFailure(ctx, new Error('down'), 'id')
  assert.equal(errors.length, 21)
  assert.deepEqual(warnings, [{ left: 480 }])
})
