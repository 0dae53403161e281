/** The first page, as the theme has it, but with a `main` around it, which screen readers look for. */
import { Content } from 'vitepress'
import HomeContent from 'vitepress/dist/client/theme-default/components/VPHomeContent.vue'
import Features from 'vitepress/dist/client/theme-default/components/VPHomeFeatures.vue'
import Hero from 'vitepress/dist/client/theme-default/components/VPHomeHero.vue'
import { h } from 'vue'

export default () => h('main', { class: 'VPHome' }, [h(Hero), h(Features), h(HomeContent, () => h(Content))])
