import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly example?: string | number
    readonly schema: { readonly examples?: readonly string[] }
  }[]
}

/** Short answers make a readable page: two rows show a list as well as twenty. */
const SHORT: Readonly<Record<string, string>> = { limit: '2', period: '2d', days: '2' }

const [origin = ''] = new Command('node tools/capture-examples.ts')
  .description(
    'Asks a running server every GET operation of its own document and keeps the good answers as the examples of the documentation. Run `biome check --write src/api/examples.json` afterwards.',
  )
  .argument('<origin>', 'of the server, such as http://localhost:4020')
  .parse().args
const file = join(import.meta.dirname, '../src/api/examples.json')
const examples = await capture(origin)
await writeFile(file, `${JSON.stringify(examples, null, 2)}\n`)
process.stdout.write(`${Object.keys(examples).length} examples in src/api/examples.json\n`)

async function capture(server: string): Promise<Record<string, Record<string, unknown>>> {
  const response = await fetch(`${server}/openapi.json`)
  const document = (await response.json()) as {
    readonly paths: Readonly<Record<string, { readonly get?: Operation }>>
  }
  const found: Record<string, Record<string, unknown>> = {}
  for (const [path, { get }] of Object.entries(document.paths)) {
    if (get === undefined) continue
    const answer = await fetch(server + targetOf(path, get))
    const body = await answer.json()
    if (answer.ok) found[get.operationId] = { [answer.status]: body }
    else process.stderr.write(`${path}: ${answer.status}, no example\n`)
  }
  return found
}

function targetOf(path: string, { parameters = [] }: Operation): string {
  const query = new URLSearchParams()
  let target = path
  for (const { name, in: place, example } of parameters) {
    if (place === 'path') target = target.replace(`{${name}}`, String(example ?? ''))
    else if (place === 'query' && (SHORT[name] ?? example) !== undefined)
      query.set(name, SHORT[name] ?? String(example))
  }
  return query.size === 0 ? target : `${target}?${query}`
}
