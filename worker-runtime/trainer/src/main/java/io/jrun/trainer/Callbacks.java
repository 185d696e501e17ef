package io.jrun.trainer;

import io.jrun.comm.Codec;
import io.jrun.comm.World;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;

/** The callbacks of a training. A program without callbacks pays nothing. */
final class Callbacks {
    private final World world;
    private final List<TrainingCallback> all;
    private final TrainingMoment moment;

    Callbacks(TrainingArguments options, TrainingSteps trainer, World world) {
        this.world = world;
        all = options.model().factory().callbacks();
        moment = new TrainingMoment(world, trainer.model().module(), options.steps(), trainer::lastLoss);
    }

    /** Calls a method of each callback after a step. */
    void call(long step, BiConsumer<TrainingCallback, TrainingMoment> method) {
        moment.at(step);
        all.forEach(callback -> method.accept(callback, moment));
    }

    /** The reason of the first rank on which a callback has asked for the end of the training. Collective. */
    Optional<String> stopReason() {
        if (all.isEmpty()) {
            return Optional.empty();
        }
        List<String> reasons =
                world.group().objects().allGather(moment.stopReason().orElse(""), Codec.STRING);
        return reasons.stream().filter(reason -> !reason.isEmpty()).findFirst();
    }
}
