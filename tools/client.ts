import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REFUSALS } from '#base/refusal.ts'
import { localDocument } from './local-document.ts'
import { type Schema, typeOfSchema } from './schema-types.ts'

const ROOT = join(import.meta.dirname, '..')
const FILE = join(ROOT, 'client/src/generated.ts')

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly description: string
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': Content } }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, Content>> }>
  >
}

interface Content {
  readonly schema: Schema
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

if (import.meta.main) {
  await writeFile(FILE, await generateClient())
  process.stdout.write('client/src/generated.ts is up to date\n')
}

/** The types and operations of the client, from the document of a server that offers everything. */
export async function generateClient(): Promise<string> {
  const document: unknown = await localDocument()
  const { paths, components } = document as Document
  const types = Object.entries(components.schemas).map(typeText)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      // POST does what GET does; only a GET can be repeated.
      .filter(([method]) => method === 'get' || methods.get === undefined || isOwn(methods, method))
      .filter(([, operation]) => !isStream(operation))
      .map(([method, operation]) => operationText(method.toUpperCase(), path, operation)),
  )
  const codes = Object.keys(REFUSALS).map((code) => `  | '${code}'\n`)
  return format(`// Written by \`node tools/client.ts\` from the OpenAPI document.
import type { CallOptions, Client } from './call.ts'

/** \`error\` in the body of an error; each has a page at /problems/{code}. */
export type ProblemCode =\n${codes.join('')}
${types.join('\n')}
${operations.join('\n')}`)
}

/** Whether a POST beside a GET is an operation of its own: it then has a body. */
function isOwn(methods: Readonly<Record<string, Operation>>, method: string): boolean {
  return methods[method]?.requestBody !== undefined
}

/** A call has one answer; examples/stream.ts reads a stream. */
function isStream({ responses }: Operation): boolean {
  return responses['200']?.content?.['text/event-stream'] !== undefined
}

function typeText([name, schema]: [string, Schema]): string {
  return `${commentOf(schema.description)}export type ${name} = ${typeOfSchema(schema)}\n`
}

function operationText(method: string, path: string, operation: Operation): string {
  const { operationId, summary } = operation
  const input = inputOf(operation)
  const isOptional = !/^\s*readonly \w+: /m.test(input)
  const name = `${operationId[0]?.toUpperCase()}${operationId.slice(1)}Input`
  const type = input === '' ? '' : `export type ${name} = {\n${input}}\n\n`
  const parameter = input === '' ? 'input: Readonly<Record<string, never>>' : `input: ${name}`
  const given = isOptional ? `${parameter} = {}` : parameter
  return `${type}/** ${summary}: ${method} ${path} */
export function ${operationId}(client: Client, ${given}, options?: CallOptions) {
  return client.call<${replyOf(operation)}>('${method}', '${path}', input, options)
}
`
}

/** Parameters and members of the body side by side; \`format\` stays JSON. */
function inputOf({ parameters, requestBody }: Operation): string {
  const own = parameters
    .filter(({ in: place, name }) => place !== 'header' && name !== 'format')
    .map(
      ({ name, required, description, schema }) =>
        `${commentOf(description)}readonly ${name}${required ? '' : '?'}: ${typeOfSchema(schema)}\n`,
    )
  const body = requestBody?.content['application/json'].schema
  if (body === undefined) return own.join('')
  return own.join('') + typeOfSchema(body).replace(/^\{\n/, '').replace(/\}$/, '')
}

/** Type arguments of `Client.call`. */
function replyOf({ responses }: Operation): string {
  const [body] = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => response.content?.['application/json']?.schema)
  const { data, meta } = body?.properties ?? {}
  if (data === undefined || meta === undefined)
    return body === undefined ? 'undefined' : typeOfSchema(body)
  return `${typeOfSchema(data)}, ${typeOfSchema(meta)}`
}

function commentOf(description: string | undefined): string {
  return description === undefined ? '' : `/** ${description} */\n`
}

function format(text: string): string {
  const biome = join(ROOT, 'node_modules/.bin/biome')
  const { stdout, stderr, status } = spawnSync(biome, ['format', '--stdin-file-path', FILE], {
    cwd: ROOT,
    input: text,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return stdout
}
