import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

type Json = Readonly<Record<string, unknown>>

export interface ApiAnswer {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON, or the text of another type; undefined for HEAD and empty answers. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members that the document has checked.
  readonly body: any
  readonly text: string
}

export interface ApiClient {
  readonly document: Json
  /** Calls the server and fails unless the answer is what the OpenAPI document says. */
  call(path: string, init?: RequestInit): Promise<ApiAnswer>
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<ApiAnswer>
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<ApiAnswer>
}

/** Headers that HTTP itself or CORS brings; all others must be documented. */
const ORDINARY = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'vary',
  'allow',
  'x-content-type-options',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-expose-headers',
  'access-control-max-age',
])

/** A client that checks every answer of a server against the document that the server gives out. */
export async function createApiClient(origin: string): Promise<ApiClient> {
  const response = await fetch(`${origin}/openapi.json`)
  assert.equal(response.status, 200, 'the OpenAPI document is served')
  const document = record(await response.json())
  const checker = new Checker(document)
  const call = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(origin + path, init)
    const text = await answer.text()
    const method = init.method ?? 'GET'
    const body = parseBody(answer, text, method)
    checker.check({ method, path, answer, body, text })
    return { status: answer.status, headers: answer.headers, body, text }
  }
  return {
    document,
    call,
    get: (path, headers = {}) => call(path, { headers }),
    post: (path, body, headers = {}) =>
      call(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
  }
}

function parseBody(answer: Response, text: string, method: string): unknown {
  if (method === 'HEAD' || text === '') return undefined
  return mediaType(answer).endsWith('json') ? JSON.parse(text) : text
}

function mediaType(answer: Response): string {
  return (answer.headers.get('content-type') ?? '').split(';')[0] ?? ''
}

interface Seen {
  readonly method: string
  readonly path: string
  readonly answer: Response
  readonly body: unknown
  readonly text: string
}

class Checker {
  readonly #document: Json
  /** The document has tests of its own; to check it here too takes longer than all answers. */
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  readonly #compiled = new Map<unknown, ValidateFunction>()

  constructor(document: Json) {
    this.#document = closeObjects(document) as Json
    addFormats.default(this.#ajv)
    this.#ajv.addSchema({ $id: 'api', components: this.#document.components })
  }

  check(seen: Seen): void {
    const where = `${seen.method} ${seen.path}: ${seen.answer.status}`
    const spec = this.#responseOf(seen, where)
    this.#checkHeaders(seen, spec, where)
    if (seen.body === undefined) return
    const content = record(spec.content ?? {})[mediaType(seen.answer)]
    assert.ok(content !== undefined, `${where}: ${mediaType(seen.answer)} is not documented`)
    const validate = this.#compile(record(content).schema)
    assert.ok(
      validate(seen.body),
      `${where}: ${this.#ajv.errorsText(validate.errors)}\n${seen.text}`,
    )
  }

  /** The documented response; unknown paths and methods have their own plain rules. */
  #responseOf(seen: Seen, where: string): Json {
    const operations = this.#operationsOf(seen.path.split('?')[0] ?? '')
    const method = seen.method === 'HEAD' ? 'get' : seen.method.toLowerCase()
    const operation = operations?.[method]
    if (operation === undefined) return this.#outside(seen, operations, where)
    const response = record(record(operation).responses)[String(seen.answer.status)]
    assert.ok(response !== undefined, `${where} is not documented`)
    return this.#resolve(response)
  }

  #outside(seen: Seen, operations: Json | undefined, where: string): Json {
    const { status } = seen.answer
    const expected = operations === undefined ? [404, 429] : [405, 429]
    if (seen.method === 'OPTIONS' && operations !== undefined) expected.push(204)
    assert.ok(expected.includes(status), `${where}, outside of the document`)
    const schema = { $ref: '#/components/schemas/Problem' }
    const content = { 'application/problem+json': { schema } }
    const { content: _content, ...common } = this.#resolve(this.#anyProblem())
    return { ...common, content }
  }

  /** A documented 400: what leaves outside of an operation carries the same headers. */
  #anyProblem(): unknown {
    const operations = Object.values(record(this.#document.paths)).flatMap((path) =>
      Object.values(record(path)),
    )
    return record(record(operations[0]).responses)['400']
  }

  #operationsOf(path: string): Json | undefined {
    const templates = Object.keys(record(this.#document.paths))
    templates.sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
    const found = templates.find((template) =>
      new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
    )
    return found === undefined ? undefined : record(record(this.#document.paths)[found])
  }

  #checkHeaders({ answer }: Seen, spec: Json, where: string): void {
    const documented = Object.entries(record(spec.headers ?? {}))
    const names = new Set(documented.map(([name]) => name.toLowerCase()))
    for (const name of answer.headers.keys())
      assert.ok(names.has(name) || ORDINARY.has(name), `${where}: header ${name} is undocumented`)
    for (const [name, reference] of documented) {
      const header = this.#resolve(reference)
      const value = answer.headers.get(name)
      if (value === null) assert.ok(header.required !== true, `${where}: header ${name} is missing`)
      else this.#checkHeader(`${where}: header ${name}`, header, value)
    }
  }

  #checkHeader(where: string, header: Json, value: string): void {
    const schema = record(header.schema)
    const validate = this.#compile(header.schema)
    const typed = schema.type === 'integer' ? Number(value) : value
    assert.ok(validate(typed), `${where} is ${value}: ${this.#ajv.errorsText(validate.errors)}`)
  }

  #resolve(value: unknown): Json {
    const own = record(value)
    if (typeof own.$ref !== 'string') return own
    const parts = own.$ref.slice(2).split('/')
    return this.#resolve(parts.reduce<unknown>((at, part) => record(at)[part], this.#document))
  }

  #compile(schema: unknown): ValidateFunction {
    const known = this.#compiled.get(schema)
    if (known !== undefined) return known
    const validate = this.#ajv.compile(absoluteReferences(schema) as Json)
    this.#compiled.set(schema, validate)
    return validate
  }
}

/** What a schema does not name, an answer must not have, unless the schema says otherwise. */
function closeObjects(value: unknown, insideAllOf = false): unknown {
  if (Array.isArray(value)) return value.map((each) => closeObjects(each, insideAllOf))
  if (typeof value !== 'object' || value === null) return value
  const closed = Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, closeObjects(each, key === 'allOf')]),
  )
  const open =
    closed.type === 'object' && closed.properties && closed.additionalProperties === undefined
  return open && !insideAllOf ? { ...closed, additionalProperties: false } : closed
}

function absoluteReferences(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"api#/'))
}

function record(value: unknown): Json {
  // The message is made on failure only: values are large, and most answers pass here many times.
  if (typeof value === 'object' && value !== null) return value as Json
  throw new assert.AssertionError({ message: `not an object: ${JSON.stringify(value)}` })
}
