package io.jrun.models.lora;

import io.jrun.comm.file.FileError;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.Projection;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.layer.LinearLayer.Layout;
import io.jrun.train.layer.LowRankAdapter;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.weights.NameMapping;
import io.jrun.train.weights.WeightFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Low-rank adapters of a model: the training changes two small matrices beside each chosen projection, and does not
 * change the weights of the model. Source: Hu et al. 2021, section 4.1; names, initial values and files as in Hugging
 * Face's PEFT. Confined to the thread of the model.
 */
public final class Lora {
    private static final String PEFT_PREFIX = "base_model.model.";
    private static final String WEIGHTS = "adapter_model.safetensors";
    private static final String CONFIG = "adapter_config.json";

    private final LanguageModel model;
    private final LoraOptions options;
    private final Map<String, Projection> adapted = new TreeMap<>();

    private Lora(LanguageModel model, LoraOptions options) {
        this.model = model;
        this.options = options;
    }

    /**
     * Freezes the parameters of a model and adds adapters. The outputs of the model do not change: the outer matrices
     * are zero. Attach the adapters before the model is wrapped, for example by DistributedDataParallel.
     *
     * @throws IllegalArgumentException if no projection has one of the names; the message lists the names of the
     *     projections
     */
    public static Lora attach(LanguageModel model, LoraOptions options) {
        Lora lora = new Lora(model, options);
        Set<String> known = new TreeSet<>();
        model.descendants(Projection.class).forEach((name, projection) -> {
            known.add(lastWord(name));
            if (options.targets().contains(lastWord(name))) {
                lora.adapted.put(name, projection);
            }
        });
        if (options.targets().isEmpty() || !known.containsAll(options.targets())) {
            List<String> unknown = new ArrayList<>(options.targets());
            unknown.removeAll(known);
            throw new IllegalArgumentException(
                    "the model has no projection named " + unknown + ". Its projections are " + known + ".");
        }
        ModuleTensors.parameters(model).values().forEach(tensor -> tensor.requires_grad_(false));
        try (NoGradGuard _ = new NoGradGuard();
                Generator generator = torch.createCPUGenerator(options.seed())) {
            lora.adapted.values().forEach(projection -> {
                LowRankAdapter adapter = projection.addAdapter(options.rank(), options.alpha() / options.rank());
                double bound = 1 / Math.sqrt((double) projection.inputs());
                adapter.down().weight().uniform_(-bound, bound, new GeneratorOptional(generator));
            });
        }
        return lora;
    }

    /**
     * Attaches the adapters of a folder of PEFT.
     *
     * @throws CheckpointException if the folder has no adapters, or adapters that jrun lacks or that do not fit the
     *     model; the message is one line
     */
    public static Lora open(LanguageModel model, Path folder) {
        Lora lora;
        try {
            lora = attach(model, LoraOptions.read(folder.resolve(CONFIG)));
        } catch (IOException e) {
            throw new CheckpointException(
                    "cannot read " + folder.resolve(CONFIG) + ": " + FileError.reason(e, folder.resolve(CONFIG)), e);
        } catch (IllegalArgumentException e) {
            throw new CheckpointException("cannot use the adapters in " + folder + ": " + e.getMessage(), e);
        }
        lora.load(folder);
        return lora;
    }

    /**
     * Adds the adapters to the weights. The model is then as fast as a model without adapters, and a saved model
     * includes the adapters.
     */
    public void merge() {
        adapted.values().forEach(projection -> projection.setMerged(true));
    }

    /** Subtracts the adapters from the weights. The training can then continue. */
    public void unmerge() {
        adapted.values().forEach(projection -> projection.setMerged(false));
    }

    /** The parameters that are trained, by their names in the model. */
    public Map<String, Tensor> parameters() {
        Map<String, Tensor> own = new LinkedHashMap<>(ModuleTensors.parameters(model));
        own.keySet().removeIf(name -> !name.contains(Projection.ADAPTER_INFIX));
        return own;
    }

    /** Saves the adapters as a folder of PEFT. */
    public void save(Path folder) {
        save(model.wholeTensors(), folder);
    }

    /**
     * Saves adapters that were gathered from several ranks as a folder of PEFT.
     *
     * @param whole the adapters by their names in the model; other tensors are left out
     * @throws IllegalArgumentException if an adapter is missing
     */
    public void save(Map<String, Tensor> whole, Path folder) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        for (String name : parameters().keySet()) {
            Tensor tensor = whole.get(name);
            if (tensor == null) {
                throw new IllegalArgumentException("the tensor '" + name + "' of the adapters is missing");
            }
            tensors.put(PEFT_PREFIX + name, model.toFileOrder(name, tensor));
        }
        boolean isTransposed = adapted.values().stream().anyMatch(projection -> projection.layout() == Layout.CONV1D);
        Safetensors.write(folder.resolve(WEIGHTS), tensors, Map.of("format", "pt"));
        try {
            Files.writeString(folder.resolve(CONFIG), options.toJson(model.isCausal(), isTransposed));
        } catch (IOException e) {
            throw new CheckpointException(
                    "cannot write " + folder.resolve(CONFIG) + ": " + FileError.reason(e, folder.resolve(CONFIG)), e);
        }
    }

    /**
     * Loads adapters that were saved with the same rank and targets.
     *
     * @throws CheckpointException if a tensor is missing, unknown or of another shape; the message names the tensor
     */
    public void load(Path folder) {
        NameMapping mapping = NameMapping.of(Map.of("^" + PEFT_PREFIX.replace(".", "\\."), ""), List.of());
        Map<String, Tensor> own = parameters();
        try (WeightFiles files = WeightFiles.open(folder.resolve(WEIGHTS))) {
            Map<String, String> fileNames = new LinkedHashMap<>();
            files.names().forEach(name -> mapping.modelName(name).ifPresent(mapped -> fileNames.put(mapped, name)));
            if (!fileNames.keySet().equals(own.keySet())) {
                throw new CheckpointException(folder + " has adapters for other projections: "
                        + fileNames.keySet().stream().limit(3).toList() + ", expected "
                        + own.keySet().stream().limit(3).toList());
            }
            own.forEach((name, tensor) -> {
                String fileName = Objects.requireNonNull(fileNames.get(name));
                files.fileOf(fileName).read(fileName, tensor);
                try (NoGradGuard _ = new NoGradGuard()) {
                    tensor.copy_(model.fromFileOrder(name, tensor));
                }
            });
        }
    }

    /** The trained parameters in the form for libtorch's optimizers. */
    public TensorVector trained() {
        return new TensorVector(parameters().values().toArray(Tensor[]::new));
    }

    private static String lastWord(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }
}
