import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }

/** The section of a version in CHANGELOG.md, whose links lead to the tagged files. */
export function releaseNotes(changelog: string, tag: string): string {
  const section = changelog.split(/^## /m).find((each) => each.startsWith(`[${tag.slice(1)}]`))
  assert(section !== undefined, `CHANGELOG.md has no section for ${tag}`)
  const base = manifest.repository.url.replace(/^git\+|\.git$/g, '')
  const text = section.slice(section.indexOf('\n')).trim()
  return `${text.replaceAll(/\]\((?!https:)/g, `](${base}/blob/${tag}/`)}\n`
}

if (import.meta.main) {
  const tag = process.argv[2] ?? ''
  assert.equal(tag, `v${manifest.version}`, 'the tag is not the version of package.json')
  const changelog = await readFile(join(import.meta.dirname, '../CHANGELOG.md'), 'utf8')
  process.stdout.write(releaseNotes(changelog, tag))
}
