/** Keyed by ASCII code; 255 for other characters. */
export const NIBBLE: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16)
  return code < 128 && !Number.isNaN(digit) ? digit : 255
})

/** Reads an unsigned number; NaN if invalid. */
export function readWord(body: Uint8Array, at: number): number {
  const a = NIBBLE[body[at] ?? 0] ?? 255
  const b = NIBBLE[body[at + 1] ?? 0] ?? 255
  const c = NIBBLE[body[at + 2] ?? 0] ?? 255
  const d = NIBBLE[body[at + 3] ?? 0] ?? 255
  const e = NIBBLE[body[at + 4] ?? 0] ?? 255
  const f = NIBBLE[body[at + 5] ?? 0] ?? 255
  const g = NIBBLE[body[at + 6] ?? 0] ?? 255
  const h = NIBBLE[body[at + 7] ?? 0] ?? 255
  if ((a | b | c | d | e | f | g | h) > 15) return Number.NaN
  return ((a << 28) | (b << 24) | (c << 20) | (d << 16) | (e << 12) | (f << 8) | (g << 4) | h) >>> 0
}

export function sameHex(a: DataView, at: number, b: DataView, bt: number, length: number): boolean {
  for (let offset = 0; offset < length; offset += 4)
    if (
      a.getUint32(at + offset) !== b.getUint32(bt + offset) &&
      !sameDigits(a, at + offset, b, bt + offset)
    )
      return false
  return true
}

function sameDigits(a: DataView, at: number, b: DataView, bt: number): boolean {
  for (let offset = 0; offset < 4; offset += 1)
    if (NIBBLE[a.getUint8(at + offset)] !== NIBBLE[b.getUint8(bt + offset)]) return false
  return true
}

export function viewOf(body: Uint8Array): DataView {
  return new DataView(body.buffer, body.byteOffset, body.byteLength)
}
