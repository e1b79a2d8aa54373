import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const REDOCLY = join(import.meta.dirname, '../node_modules/@redocly/cli/bin/cli.js')

const CONFIGURATION =
  'extends: [recommended]\nrules:\n  no-server-example.com: off\n  operation-4xx-response: error\n  operation-tag-defined: error\n'

/** Fails if Redocly reports errors or warnings for an OpenAPI document. */
export async function assertLintFree(document: unknown): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-openapi-'))
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document))
  await writeFile(join(folder, 'redocly.yaml'), CONFIGURATION)
  const child = spawn(process.execPath, [REDOCLY, 'lint', 'openapi.json'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text))
  const [code] = await once(child, 'close')
  await rm(folder, { recursive: true })
  const said = output.join('')
  assert.equal(code, 0, said)
  assert.match(said, /Your API description is valid/)
  assert.doesNotMatch(said, /Warning was generated|warnings? generated/i, said)
}
