import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const read = (path: string) => readFile(join(import.meta.dirname, '..', path), 'utf8')

/** Versions, with what an operator has to do before each; undefined where that is missing. */
function updateNotes(changelog: string): ReadonlyMap<string, string | undefined> {
  const sections = changelog.split(/^## \[/m).slice(1)
  return new Map(
    sections.map((section) => {
      const version = section.slice(0, section.indexOf(']'))
      const note = /^Before you update:(?: (nothing)\.$|\n\n((?:- .*| {2}.*|\n)+))/m.exec(section)
      return [version, note?.[1] ?? note?.[2]?.trim()]
    }),
  )
}

test('every version says what to do before an update, or that there is nothing to do', async () => {
  const notes = updateNotes(await read('CHANGELOG.md'))
  const { version } = JSON.parse(await read('package.json'))
  assert.ok(notes.has(version), `${version} is not in the changelog`)
  for (const [name, note] of notes) assert.ok(note, name)
})

test('a version without a note, and an empty list, are noticed', () => {
  const sample = `## [0.3.0]\n\nBefore you update:\n\n### Added\n\n- A thing.\n
## [0.2.0]\n\n### Added\n\n- A thing.\n\n## [0.1.0]\n\nBefore you update: nothing.\n`
  const missing = [...updateNotes(sample)].filter(([, note]) => !note)
  assert.deepEqual(
    missing.map(([version]) => version),
    ['0.3.0', '0.2.0'],
  )
})
