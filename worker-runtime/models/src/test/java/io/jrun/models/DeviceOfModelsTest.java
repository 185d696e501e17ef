package io.jrun.models;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.models.lora.Lora;
import io.jrun.models.lora.LoraOptions;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** libtorch's meta device has no memory: a tensor of a model that is made elsewhere would be large. */
class DeviceOfModelsTest {
    private static final Device META = new Device("meta", 0);

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(
            strings = {
                """
                {"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 1600, "n_layer": 48,
                 "n_head": 25, "tie_word_embeddings": false}""",
                """
                {"model_type": "llama", "vocab_size": 128256, "hidden_size": 8192, "intermediate_size": 28672,
                 "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "rms_norm_eps": 1e-5,
                 "max_position_embeddings": 8192, "attention_bias": true, "mlp_bias": true}""",
                """
                {"model_type": "bert", "vocab_size": 30522, "hidden_size": 1024, "num_hidden_layers": 24,
                 "num_attention_heads": 16, "intermediate_size": 4096, "max_position_embeddings": 512,
                 "type_vocab_size": 2, "tie_word_embeddings": false}""",
            })
    void eachTensorOfAModelIsMadeOnItsDevice(String config) throws IOException {
        Files.writeString(folder.resolve("config.json"), config);
        try (PointerScope _ = new PointerScope()) {
            LanguageModel model = ModelFolder.build(folder, META, _ -> {});
            Lora.attach(model, new LoraOptions(2, 4, model.adapterTargets(), 1));

            assertThat(model.device()).isEqualTo(META);
            assertThat(ModuleTensors.all(model))
                    .hasSizeGreaterThan(100)
                    .allSatisfy((_, tensor) ->
                            assertThat(TensorMemory.device(tensor)).isEqualTo(META));
        }
    }
}
