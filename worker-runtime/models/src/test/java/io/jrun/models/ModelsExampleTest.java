package io.jrun.models;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.models.transformer.LanguageModel;
import java.io.IOException;
import java.nio.file.Path;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of the package's page. */
class ModelsExampleTest {
    @TempDir
    Path folder;

    @Test
    void theLoadedModelComputesWhatTheSavedModelComputes() throws IOException {
        LanguageModel saved = TinyModels.write(folder, "gpt2");
        Tensor tokens = torch.arange(new Scalar(4L)).view(1, 4);
        try (World world = Distributed.init()) {
            assertThat(ModelsExample.load(world, folder).forward(tokens).equal(saved.forward(tokens)))
                    .isTrue();
        }
    }
}
