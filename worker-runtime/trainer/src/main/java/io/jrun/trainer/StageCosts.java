package io.jrun.trainer;

import io.jrun.comm.World;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.pipeline.LayerCosts;
import io.jrun.train.pipeline.StageCut;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The cut of a model into stages: by the number of layers, or by the measured cost of the layers. */
final class StageCosts {
    private StageCosts() {}

    /** The cut, the same on all ranks. Collective on the world if costs are measured. */
    static StageCut cut(TrainingArguments options, int stages, World world) {
        int blocks = options.definition().blockCount();
        return options.parallel().stageCut() == ParallelOptions.CutMeasure.COUNT
                ? StageCut.byCount(blocks + 2, stages)
                : StageCut.byCost(costs(options, blocks, world), stages);
    }

    /** The costs of the embedding, of each block, and of the output layer with the loss. All blocks cost the same. */
    private static double[] costs(TrainingArguments options, int blocks, World world) {
        try (PointerScope _ = new PointerScope()) {
            TrainableModel one = options.definition().withOneBlock().build(_ -> {});
            options.recipe().parameters().convert(one);
            Tensor tokens = torch.zeros(
                    new long[] {options.microBatch(), options.model().context()},
                    TensorMemory.options(options.device().device(), torch.ScalarType.Long));
            List<PipelineLayer> layers = new ArrayList<>(one.pipelineLayers());
            PipelineLayer head = layers.removeLast();
            layers.add(new PipelineLayer(
                    head.name(),
                    head.parameters(),
                    x -> one.outputLoss(head.forward().apply(x), tokens)));
            double[] measured = LayerCosts.measure(layers, tokens, world.group());
            double[] costs = new double[blocks + 2];
            Arrays.fill(costs, measured[1]);
            costs[0] = measured[0];
            costs[blocks + 1] = measured[measured.length - 1];
            return costs;
        }
    }
}
