package io.jrun.examples.gpt;

import io.jrun.comm.Device;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensorparallel.ParallelStyle;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** A GPT-2 or a Llama before it is built. */
record GptDefinition(GptConfig config, Device device) implements ModelDefinition {
    @Override
    public String summary() {
        return config.summary();
    }

    @Override
    public int blockCount() {
        return config.layers();
    }

    @Override
    public TrainableModel build(Consumer<ModelBlock> built) {
        return config.model(device).build(built);
    }

    @Override
    public Map<String, ParallelStyle> tensorParallelPlan() {
        return config.tensorParallelPlan();
    }

    @Override
    public boolean sharesSequences() {
        return true;
    }

    @Override
    public long width() {
        return config.width();
    }

    @Override
    public OptionalLong keyHeads() {
        return OptionalLong.of(config.keyHeads());
    }

    @Override
    public double parameterBytes() {
        return config.parameterBytes();
    }

    @Override
    public double outputBytes() {
        return config.outputBytes();
    }
}
