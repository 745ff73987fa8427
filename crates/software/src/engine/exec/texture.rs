//! Textures, lane by lane.

use super::atomic::narrow;
use super::machine::{LANES, Machine, Place};
use crate::engine::ir::{Reg, TextureOp, TextureWhat};
use crate::engine::texture::{Axes, Sample, View};

impl Machine<'_> {
    pub(super) fn texture(&mut self, op: &TextureOp) {
        let Some(&view) = self.shared.textures.get(op.texture as usize) else {
            return;
        };
        let alike = |reg: &Reg| matches!(self.place(*reg), Place::Uniform(_));
        // One value for all: once is enough.
        let once = !op.d.is_empty() && op.d.iter().all(alike);
        let lanes = self.from * LANES..self.to * LANES;
        self.steps += (lanes.len() / 4) as u64;
        for lane in lanes {
            if !self.is_active(lane) {
                continue;
            }
            let words = self.texture_lane(op, view, lane);
            for (reg, word) in op.d.iter().zip(words) {
                self.set_word(*reg, lane, word);
            }
            if once {
                return;
            }
        }
    }

    fn texture_lane(&self, op: &TextureOp, view: &View, lane: usize) -> [u32; 4] {
        let word = |reg: &Reg| self.word(self.place(*reg), lane);
        let mut at = [0; 3];
        for (to, reg) in at.iter_mut().zip(&op.coordinates) {
            *to = word(reg);
        }
        let layer = op.layer.as_ref().map_or(0, word);
        let level = op.level.as_ref().map_or(0, word);
        let mut place = at;
        if view.axes != Axes::Three {
            place[2] = layer;
        }
        match op.what {
            TextureWhat::Load => view.load(level, place),
            TextureWhat::Store => {
                let mut words = [0; 4];
                for (to, reg) in words.iter_mut().zip(&op.v) {
                    *to = word(reg);
                }
                view.store(place, words);
                [0; 4]
            }
            TextureWhat::Atomic(rmw) => {
                let v = op.v.first().map_or(0, word);
                view.update(place, |old| narrow(rmw, old, v, 0));
                [0; 4]
            }
            TextureWhat::Sample {
                sampler,
                offset,
                to_edge,
            } => {
                let Some(sampler) = self.shared.samplers.get(sampler as usize) else {
                    return [0; 4];
                };
                let sample = Sample {
                    at: at.map(f32::from_bits),
                    layer: (layer as i32).max(0) as u32,
                    offset,
                    level: f32::from_bits(level),
                    to_edge,
                };
                view.sample(sampler, &sample)
            }
            TextureWhat::Size => {
                let [x, y, z] = view.size(level);
                [x, y, z, 0]
            }
            TextureWhat::Levels => [view.levels.len() as u32, 0, 0, 0],
            TextureWhat::Layers => [view.size(0)[2], 0, 0, 0],
        }
    }
}
