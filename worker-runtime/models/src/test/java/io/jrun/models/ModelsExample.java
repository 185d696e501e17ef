package io.jrun.models;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.weights.WeightLoader;
import io.jrun.train.weights.WeightReaders;
import java.nio.file.Path;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Loads a model of Hugging Face. Start: {@code jrun --nproc-per-node=2 ModelsExample.java FOLDER}. */
public final class ModelsExample {
    private ModelsExample() {}

    /** Prints the token that the model expects after token 0. */
    public static void main(String[] args) {
        try (World world = Distributed.init()) {
            LanguageModel model = load(world, Path.of(args[0]));
            Tensor logits_BSV = model.forward(torch.zeros(new long[] {1, 1}).to(torch.ScalarType.Long));
            System.out.println(
                    "after token 0 comes token " + logits_BSV.argmax().item_long());
        }
    }

    /** Rank 0 reads the files, and the other ranks get the weights from rank 0. */
    static LanguageModel load(World world, Path folder) {
        LanguageModel model = ModelFolder.build(folder);
        WeightLoader.load(model, folder, model.mapping(), world, WeightReaders.RANK_0);
        return model;
    }
}
