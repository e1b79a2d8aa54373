import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maskSource } from './mask-source.ts'

test('code, comments and strings are told apart', () => {
  const { code, comments, withStrings } = maskSource(`const a = 'b // c' // d 'e'\n/* f\n'g' */ h`)
  assert.equal(code.replaceAll(/\s+/g, ' '), 'const a = h')
  assert.equal(comments.replaceAll(/\s+/g, ' ').trim(), "// d 'e' /* f 'g' */")
  assert.equal(withStrings.replaceAll(/\s+/g, ' '), "const a = 'b // c' h")
})

test('the holes of nested templates are code', () => {
  const { code } = maskSource('a(`x $%{b({ c: `y $%{d} z` })} w`, e)'.replaceAll('%', ''))
  assert.equal(code.replaceAll(/\s+/g, ''), 'a(b({c:d}),e)')
})

test('a regular expression is text and a division is code', () => {
  const { code } = maskSource(`const a = /['"/*]/g.exec(b) ; const c = d / e / f // g`)
  assert.equal(code.replaceAll(/\s+/g, ' ').trim(), 'const a = g.exec(b) ; const c = d / e / f')
  assert.equal(maskSource('else return /{/g').code.trimEnd(), 'else return    g')
})

test('the parts of any text keep its length and its line breaks', () => {
  const pieces = fc.constantFrom(
    "'",
    '"',
    '`',
    '${',
    '{',
    '}',
    '/',
    '//',
    '/*',
    '*/',
    '\\',
    '\n',
    'a',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (array) => {
      const source = array.join('')
      for (const part of Object.values(maskSource(source))) {
        assert.equal(part.length, source.length)
        assert.equal(part.split('\n').length, source.split('\n').length)
      }
    }),
  )
})
