import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { REFUSALS } from '#base/refusal.ts'
import { startWorld, type World } from './world.ts'

type Json = Readonly<Record<string, unknown>>

/** A mistake of ours has no example, and 402 has one of its own. */
const WITHOUT = ['internal_error', 'payment_required']

describe('examples in the document', () => {
  let world: World
  let document: Json
  before(async () => {
    world = await startWorld({
      change: (file) => ({
        ...file,
        service: {
          ...file.service,
          name: 'Boneyard',
          keyPrefix: 'bone',
          publicBaseUrl: 'https://api.bone.example',
        },
      }),
    })
    document = (await (await fetch(`${world.origin}/openapi.json`)).json()) as Json
  })
  after(() => world.stop())

  test('every operation has answers, every body a request, and each fits its schema', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    addFormats.default(ajv)
    ajv.addSchema({ $id: 'api', components: document.components })
    let checked = 0
    const check = (where: string, { schema, example }: Json) => {
      assert.ok(example !== undefined, `${where} has no example`)
      const absolute = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"api#/')
      const fits = ajv.compile(JSON.parse(absolute))
      assert.ok(fits(example), `${where}: ${ajv.errorsText(fits.errors)}`)
      checked += 1
    }
    for (const { where, operation } of operationsOf(document)) {
      const { requestBody, responses } = operation as Record<string, Json>
      const body = (requestBody?.content as Record<string, Json> | undefined)?.['application/json']
      // An owner may send nothing but the key itself.
      if (body !== undefined) check(`${where} request`, body)
      for (const [status, response] of Object.entries(responses ?? {})) {
        const content = (response as Json).content as Record<string, Json> | undefined
        const json = content?.['application/json']
        if (json !== undefined) check(`${where} ${status}`, json)
      }
    }
    assert.ok(checked > 40, `${checked}`)
  })

  test('every kind of problem has a real body', () => {
    const { responses } = document.components as {
      readonly responses: Readonly<Record<string, Json>>
    }
    const codes = new Set<string>()
    for (const { content } of Object.values(responses)) {
      const { examples = {} } = Object.values(content as Record<string, Json>)[0] ?? {}
      for (const [code, { value }] of Object.entries(examples as Record<string, { value: Json }>)) {
        assert.equal(value.error, code)
        assert.ok(String(value.detail).length > 5)
        codes.add(code)
      }
    }
    const documented = JSON.stringify(responses)
    for (const code of Object.keys(REFUSALS))
      if (!WITHOUT.includes(code) && documented.includes(`\`${code}\``))
        assert.ok(codes.has(code), code)
  })

  test('they are those of this service: its figures, address, name and key prefix', async () => {
    const text = JSON.stringify(document)
    assert.doesNotMatch(text, /localhost|svc_[0-9a-f]{8}|Sexton: /)
    assert.match(text, /bone_[0-9a-f]{8}_[0-9a-f]{32}/)
    assert.match(text, /Boneyard: mint an API key/)
    assert.match(text, /https:\/\/api\.bone\.example\/problems\/invalid_cursor/)
    const { paths } = document as { readonly paths: Record<string, Record<string, Json>> }
    const stats = exampleOf(paths['/api/stats']?.get)
    const { body } = await world.api.get('/api/stats')
    assert.equal(stats.data.tokens[0].addresses.base, body.data.tokens[0].addresses.base)
    assert.equal(stats.data.graveDigs.count <= body.data.graveDigs.count, true)
  })
})

function* operationsOf(document: Json) {
  for (const [path, methods] of Object.entries(document.paths as Record<string, Json>))
    for (const [method, operation] of Object.entries(methods))
      yield { where: `${method} ${path}`, operation }
}

// biome-ignore lint/suspicious/noExplicitAny: an example of a known shape.
function exampleOf(operation: Json | undefined): any {
  const responses = operation?.responses as Record<string, { content: Record<string, Json> }>
  return responses['200']?.content['application/json']?.example
}
