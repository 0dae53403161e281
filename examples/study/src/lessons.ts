/**
 * The lessons. The page shows at once whether an answer is right, so it has them with the solutions, and the server
 * checks the answers again. If points are worth something, let the server alone have the solutions.
 */
export interface Question {
  text: string
  choices: readonly string[]
  /** The index of the right choice. */
  right: number
  /** Is shown after the answer. */
  because: string
}

export interface Lesson {
  id: string
  title: string
  about: string
  questions: readonly Question[]
}

export const LESSONS: readonly Lesson[] = [
  {
    id: 'moon',
    title: 'The Moon',
    about: 'Phases, tides and eclipses',
    questions: [
      {
        text: 'How long is it from one full moon to the next?',
        choices: ['About 7 days', 'About 29 days', 'About 90 days', 'About 365 days'],
        right: 1,
        because: 'It is 29.5 days. Our months come from it.',
      },
      {
        text: 'Why do we always see the same side of the Moon?',
        choices: [
          'It does not turn',
          'The other side is always dark',
          'It turns once in each orbit',
          'The Earth hides the other side',
        ],
        right: 2,
        because: 'One turn takes as long as one orbit. The far side gets just as much sunlight.',
      },
      {
        text: 'What makes most of the tides?',
        choices: ["The Moon's gravity", 'The wind', 'The heat of the Sun', 'Waves of earthquakes'],
        right: 0,
        because: "The Sun's gravity helps, with a bit less than half of the Moon's effect.",
      },
      {
        text: 'What happens in an eclipse of the Moon?',
        choices: [
          'Venus passes in front of the Moon',
          'The Moon comes between the Sun and the Earth',
          'Clouds cover the Moon',
          'The Earth comes between the Sun and the Moon',
        ],
        right: 3,
        because: 'The Moon is in the shadow of the Earth, and often looks red.',
      },
    ],
  },
  {
    id: 'sun',
    title: 'The Sun',
    about: 'Our own star, up close',
    questions: [
      {
        text: 'What is the Sun?',
        choices: ['A planet', 'A star', 'A comet', 'A galaxy'],
        right: 1,
        because: 'It is an ordinary star. It looks large because it is so near.',
      },
      {
        text: 'How long does its light need to reach us?',
        choices: ['No time at all', 'About 8 seconds', 'About 8 minutes', 'About 8 hours'],
        right: 2,
        because: 'It travels 150 million kilometres, so we see the Sun as it was 8 minutes ago.',
      },
      {
        text: 'Where does its energy come from?',
        choices: ['Burning coal', 'Other stars', 'Friction', 'Hydrogen that becomes helium'],
        right: 3,
        because: 'Nuclear fusion in its core makes helium of hydrogen.',
      },
      {
        text: 'What are sunspots?',
        choices: ['Cooler places', 'Deep holes', 'Shadows of planets', 'Clouds of ash'],
        right: 0,
        because: 'They look dark only because the surface around them is even hotter.',
      },
    ],
  },
  {
    id: 'planets',
    title: 'The planets',
    about: 'Eight worlds around the Sun',
    questions: [
      {
        text: 'Which planet is the largest?',
        choices: ['Earth', 'Saturn', 'Jupiter', 'Neptune'],
        right: 2,
        because: 'Jupiter is heavier than all other planets together.',
      },
      {
        text: 'Which planet is the closest to the Sun?',
        choices: ['Mercury', 'Venus', 'Mars', 'Earth'],
        right: 0,
        because: 'Its year has only 88 of our days.',
      },
      {
        text: 'Which planet is the hottest?',
        choices: ['Mercury', 'Mars', 'Jupiter', 'Venus'],
        right: 3,
        because: 'Its thick air holds the heat: it has about 465 °C, day and night.',
      },
      {
        text: "What are Saturn's rings mostly made of?",
        choices: ['Sand', 'Ice', 'Iron', 'Gas'],
        right: 1,
        because: 'Most pieces are clean water ice, from grains to the size of a house.',
      },
    ],
  },
  {
    id: 'stars',
    title: 'Stars',
    about: 'Colours, distances and Polaris',
    questions: [
      {
        text: 'Which stars are the hottest?',
        choices: ['Red ones', 'Yellow ones', 'Orange ones', 'Blue ones'],
        right: 3,
        because: 'Like in a flame, blue is hotter than red.',
      },
      {
        text: 'Which star is the closest to the Sun?',
        choices: ['Sirius', 'Proxima Centauri', 'Polaris', 'Betelgeuse'],
        right: 1,
        because: 'Its light needs a bit more than four years to reach us.',
      },
      {
        text: 'Which direction does Polaris show?',
        choices: ['North', 'East', 'South', 'West'],
        right: 0,
        because: "It is almost exactly above the Earth's North Pole.",
      },
      {
        text: 'Why do stars twinkle?',
        choices: ['They turn', 'Planets pass them', 'Our air bends their light', 'They go on and off'],
        right: 2,
        because: 'Moving air bends the light a little. Seen from space, stars do not twinkle.',
      },
    ],
  },
  {
    id: 'galaxies',
    title: 'Galaxies',
    about: 'The Milky Way and beyond',
    questions: [
      {
        text: 'What is our galaxy called?',
        choices: ['The Milky Way', 'Andromeda', 'Orion', 'The Big Dipper'],
        right: 0,
        because: 'On a dark night it is a pale band across the sky.',
      },
      {
        text: 'What is a light year?',
        choices: [
          'A year with 366 days',
          'The age of a star',
          'The distance that light travels in a year',
          'The time that sunlight needs to reach us',
        ],
        right: 2,
        because: 'It is a distance: about 9.5 trillion kilometres.',
      },
      {
        text: 'What is in the middle of the Milky Way?',
        choices: ['The Sun', 'A huge black hole', 'The North Star', 'Nothing'],
        right: 1,
        because: 'It has the mass of about four million suns.',
      },
      {
        text: 'Which large galaxy is the nearest to ours?',
        choices: ['The Sombrero', 'The Pinwheel', 'The Whirlpool', 'Andromeda'],
        right: 3,
        because: 'You can see it without a telescope, 2.5 million light years away.',
      },
    ],
  },
  {
    id: 'comets',
    title: 'Comets',
    about: 'Tails, dust and shooting stars',
    questions: [
      {
        text: 'What is a comet mostly made of?',
        choices: ['Lava', 'Ice and dust', 'Iron', 'Burning gas'],
        right: 1,
        because: 'Near the Sun, the ice becomes gas and takes the dust with it.',
      },
      {
        text: "Where does a comet's tail point?",
        choices: ['To the Sun', 'To the Earth', 'To the North Star', 'Away from the Sun'],
        right: 3,
        because: 'Sunlight and the solar wind push it away, wherever the comet flies.',
      },
      {
        text: 'What is a shooting star?',
        choices: ['A star that falls', 'A far comet', 'Dust that glows in our air', 'A satellite'],
        right: 2,
        because: 'Most are not larger than a grain of sand.',
      },
      {
        text: "How often does Halley's Comet come back?",
        choices: ['About every 76 years', 'Each year', 'About every 10 years', 'Never'],
        right: 0,
        because: 'It came last in 1986, and will be back in 2061.',
      },
    ],
  },
]
