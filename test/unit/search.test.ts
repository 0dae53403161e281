import { expect, test } from 'vitest'
import { folded } from '../../src/store/users/pages.sql'

test('[U8] each character is found in upper and lower case, composed and decomposed', () => {
  const different: string[] = []
  for (let code = 0; code < 0x110000; code += 1) {
    if (code >= 0xd800 && code < 0xe000) continue
    const character = String.fromCodePoint(code)
    const wanted = folded(character)
    const others = [
      character.toUpperCase(),
      character.toLowerCase(),
      character.normalize('NFC'),
      character.normalize('NFD'),
      wanted,
    ].filter((other) => other !== character)
    if (others.some((other) => folded(other) !== wanted)) different.push(code.toString(16))
  }
  expect(different).toEqual([])
})

test('[U8] ASCII is folded as SQLite does it, to upper case', () => {
  const ascii = String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code))
  expect(folded(ascii)).toBe(ascii.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase()))
})
