import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { isLongVersion } from '#test/long-version.ts'
import { localDocument } from '#tools/local-document.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const require = createRequire(join(ROOT, 'client/package.json'))

/** Command and parameters by package, and a program that uses what they write. */
const GENERATORS = [
  {
    name: 'openapi-typescript',
    parameters: ['openapi.json', '-o', 'openapi-typescript.ts'],
    program: `import type { components } from './openapi-typescript.ts'
export const amountOf = (burn: components['schemas']['Burn']): string => burn.amount
export const priceOf = (stats: components['schemas']['Stats']): number | null | undefined => stats.prices.GRAVE?.usd`,
  },
  {
    name: '@hey-api/openapi-ts',
    parameters: ['-i', 'openapi.json', '-o', 'hey-api', '-c', '@hey-api/client-fetch'],
    program: `import { listBurns, type Burn } from './hey-api'
export const newest = async (): Promise<Burn | undefined> => (await listBurns({ query: { limit: 1 } })).data?.data[0]`,
  },
  {
    name: 'orval',
    parameters: ['--input', 'openapi.json', '--output', 'orval.ts', '--client', 'fetch'],
    program: `import { listBurns, type Burn } from './orval'
export const newest = async (): Promise<Burn | undefined> => {
  const answer = await listBurns({ limit: 1 })
  // CSV is text.
  return answer.status === 200 && typeof answer.data !== 'string' ? answer.data.data[0] : undefined
}`,
  },
  {
    name: 'swagger-typescript-api',
    parameters: ['generate', '-p', 'openapi.json', '-o', '.', '-n', 'swagger.ts'],
    program: `import { Api, type Burn } from './swagger'
export const newest = async (): Promise<Burn | undefined> =>
  (await new Api().api.listBurns({ limit: 1 })).data.data[0]`,
  },
] as const

/** openapi-fetch writes no code: it takes the types of openapi-typescript. */
const FETCHING = `import createClient from 'openapi-fetch'
import type { components, paths } from './openapi-typescript.ts'
const client = createClient<paths>({ baseUrl: 'http://127.0.0.1' })
export async function newest(): Promise<components['schemas']['Burn'] | undefined> {
  const { data } = await client.GET('/api/burns/recent', { params: { query: { limit: 1 } } })
  return typeof data === 'string' ? undefined : data?.data[0]
}
// @ts-expect-error: a limit is a number.
client.GET('/api/burns/recent', { params: { query: { limit: 'one' } } })`

describe('generators of clients', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sexton-generators-'))
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(await localDocument()))
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  for (const { name, parameters, program } of isLongVersion ? GENERATORS : GENERATORS.slice(0, 1))
    test(`${name}: what it writes compiles under tsc --strict`, async () => {
      await run(process.execPath, [programOf(name), ...parameters], { cwd: folder })
      await compile(folder, `use-${name.replaceAll(/\W/g, '-')}.ts`, program)
    })

  test('openapi-fetch: calls are typed by the document', async () => {
    await compile(folder, 'use-openapi-fetch.ts', FETCHING)
  })
})

/** The file of a package's command. */
function programOf(name: string): string {
  const file = manifestOf(name)
  const { bin } = require(file) as { readonly bin: string | Readonly<Record<string, string>> }
  const [path = ''] = typeof bin === 'string' ? [bin] : Object.values(bin)
  return join(dirname(file), path)
}

function manifestOf(name: string): string {
  const folder = require.resolve
    .paths(name)
    ?.map((each) => join(each, name, 'package.json'))
    .find((file) => existsSync(file))
  assert.ok(folder !== undefined, `${name} is not installed`)
  return folder
}

async function compile(folder: string, file: string, program: string): Promise<void> {
  await writeFile(join(folder, file), program)
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--types',
    'node',
    '--target',
    'es2022',
  ]
  const modules = [
    '--module',
    'preserve',
    '--allowImportingTsExtensions',
    '--lib',
    'es2022,dom,dom.iterable',
  ]
  const tsc = join(dirname(require.resolve('typescript')), 'tsc.js')
  await run(process.execPath, [tsc, ...options, ...modules, file], { cwd: folder }).catch(
    (error: { readonly stdout: string }) => assert.fail(error.stdout),
  )
}
