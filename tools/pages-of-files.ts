import assert from 'node:assert/strict'

/** A page for each file that is found at run time beside the bundle, with what it begins with. */
const PAGES: Readonly<Record<string, string>> = {
  '/': '<!doctype html>',
  '/page.css': '',
  '/docs/contract': '<!doctype html>',
  '/problems/rate_limited': '<!doctype html>',
  '/scalar/v1': '<!doctype html>',
  '/scalar/v1/scalar.js': '',
  '/openapi.json': '{"openapi":"3.1.',
  '/llms.txt': '#',
  '/client.js': '',
  '/client.d.ts': '',
  '/badges/burned.svg': '<svg',
  '/charts/burns.svg': '<svg',
  '/cards/register.png': '\uFFFDPNG',
}

/** Asks an installed service for one page of each kind. */
export async function assertPages(origin: string): Promise<void> {
  for (const [path, beginning] of Object.entries(PAGES)) {
    const answer = await fetch(origin + path, { headers: { Accept: 'text/html, */*' } })
    const text = await answer.text()
    assert.equal(answer.status, 200, `${path}: ${text.slice(0, 500)}`)
    assert.ok(
      text.toLowerCase().startsWith(beginning.toLowerCase()),
      `${path}: ${text.slice(0, 80)}`,
    )
    assert.ok(text.length > 100, path)
  }
}
