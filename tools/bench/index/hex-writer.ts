/** The four digits of each 16-bit number, as the little-endian word of their ASCII codes. */
const fourDigits = makeFourDigits()

function makeFourDigits(): Uint32Array {
  const table = new Uint32Array(65_536)
  const bytes = Buffer.alloc(4)
  for (let value = 0; value < table.length; value += 1) {
    bytes.write(value.toString(16).padStart(4, '0'), 'latin1')
    table[value] = bytes.readUInt32LE()
  }
  return table
}

/** Writes a 32-bit word as 8 hex digits. */
export function writeWord32(view: DataView, at: number, value: number): void {
  view.setUint32(at, fourDigits[value >>> 16] ?? 0, true)
  view.setUint32(at + 4, fourDigits[value & 0xffff] ?? 0, true)
}

/** Writes a 48-bit whole number as 12 hex digits. */
export function writeWord48(view: DataView, at: number, value: number): void {
  view.setUint32(at, fourDigits[Math.floor(value / 2 ** 32)] ?? 0, true)
  writeWord32(view, at + 4, value % 2 ** 32)
}

/** Writes the hex digits of a number without leading zeros; gives the position after them. */
export function writeQuantity(bytes: Buffer, at: number, value: number): number {
  let shift = 0
  while (shift < 28 && value >>> (shift + 4) !== 0) shift += 4
  let position = at
  for (; shift >= 0; shift -= 4) {
    const digit = (value >>> shift) & 15
    bytes[position] = digit + (digit < 10 ? 48 : 87)
    position += 1
  }
  return position
}
