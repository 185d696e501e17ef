package io.jrun.models.lora;

import io.jrun.comm.Device;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.Projection;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.layer.LinearLayer.Layout;
import io.jrun.train.layer.LowRankAdapter;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.weights.NameMapping;
import io.jrun.train.weights.WeightFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
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
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
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
    private static final String OLD_WEIGHTS = "adapter_model.bin";
    private static final String CONFIG = "adapter_config.json";

    private final LanguageModel model;
    private final Supplier<String> configJson;
    private final List<String> notes;
    private final Map<String, Projection> adapted = new TreeMap<>();

    private Lora(LanguageModel model, Supplier<String> configJson, List<String> notes) {
        this.model = model;
        this.configJson = configJson;
        this.notes = notes;
    }

    /**
     * Freezes the parameters of a model and adds adapters. The outputs of the model do not change: the outer matrices
     * are zero. Attach the adapters before the model is wrapped, for example by DistributedDataParallel.
     *
     * @throws IllegalArgumentException if no projection has one of the names; the message lists the names of the
     *     projections
     */
    public static Lora attach(LanguageModel model, LoraOptions given) {
        LoraOptions options =
                given.targets().equals(List.of(LoraOptions.ALL_LINEAR)) ? given.withTargets(allLinear(model)) : given;
        Map<String, Projection> projections = model.descendants(Projection.class);
        List<String> unknown = new ArrayList<>(options.targets());
        unknown.removeIf(target ->
                projections.keySet().stream().anyMatch(name -> AdapterPlan.endsWithAny(name, List.of(target))));
        if (options.targets().isEmpty() || !unknown.isEmpty()) {
            throw lacksProjections(model, unknown.toString());
        }
        AdapterPlan plan = AdapterPlan.of(options);
        List<Projection> chosen = new ArrayList<>();
        projections.forEach((name, projection) -> {
            if (plan.selects().test(name)) {
                chosen.add(projection);
            }
        });
        boolean isTransposed = chosen.stream().anyMatch(projection -> projection.layout() == Layout.CONV1D);
        Lora lora = new Lora(model, () -> options.toJson(model.isCausal(), isTransposed), List.of());
        lora.addAdapters(plan, options.seed());
        return lora;
    }

    /** PEFT too saves the names: another program need not know which layer is the output layer. */
    private static List<String> allLinear(LanguageModel model) {
        return model.descendants(Projection.class).keySet().stream()
                .filter(name -> !name.equals(model.outputLayer()))
                .map(Lora::lastWord)
                .distinct()
                .sorted()
                .toList();
    }

    private static IllegalArgumentException lacksProjections(LanguageModel model, String wanted) {
        Set<String> known = new TreeSet<>();
        model.descendants(Projection.class).keySet().forEach(name -> known.add(lastWord(name)));
        return new IllegalArgumentException(
                "the model has no projection named " + wanted + ". Its projections are " + known + ".");
    }

    private void addAdapters(AdapterPlan plan, long seed) {
        model.descendants(Projection.class).forEach((name, projection) -> {
            if (plan.selects().test(name)) {
                adapted.put(name, projection);
            }
        });
        ModuleTensors.parameters(model).values().forEach(tensor -> tensor.requires_grad_(false));
        try (NoGradGuard _ = new NoGradGuard();
                Generator generator = torch.createCPUGenerator(seed)) {
            adapted.forEach((name, projection) -> {
                LowRankAdapter adapter = projection.addAdapter(plan.rank(name), plan.factor(name));
                double bound = 1 / Math.sqrt((double) projection.inputs());
                try (PointerScope _ = new PointerScope()) { // The CPU draws the values of all devices.
                    Tensor down = adapter.down().weight();
                    Tensor values = DeviceTensors.zeros(Device.CPU, TensorMemory.sizes(down));
                    down.copy_(values.uniform_(-bound, bound, new GeneratorOptional(generator)));
                }
            });
        }
    }

    /**
     * Attaches the adapters of a folder of PEFT. {@link #save} then writes the same {@code adapter_config.json}.
     *
     * @throws CheckpointException if the folder has no adapters, or adapters that jrun lacks or that do not fit the
     *     model; the message is one line
     */
    public static Lora open(LanguageModel model, Path folder) {
        Lora lora;
        try {
            AdapterPlan plan = AdapterPlan.read(folder.resolve(CONFIG), model.outputLayer());
            if (model.descendants(Projection.class).keySet().stream().noneMatch(plan.selects())) {
                throw lacksProjections(model, "by target_modules");
            }
            lora = new Lora(model, () -> plan.json().orElseThrow(), plan.notes());
            lora.addAdapters(plan, 0);
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

    /** Lines about fields of the adapters' configuration that have no effect. */
    public List<String> notes() {
        return notes;
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
        Safetensors.write(folder.resolve(WEIGHTS), tensors, Map.of("format", "pt"));
        try {
            OutputFile.replace(folder.resolve(CONFIG), configJson.get().getBytes(StandardCharsets.UTF_8));
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
        Path weights = folder.resolve(Files.exists(folder.resolve(WEIGHTS)) ? WEIGHTS : OLD_WEIGHTS);
        try (WeightFiles files = WeightFiles.open(weights)) {
            Map<String, String> fileNames = new LinkedHashMap<>();
            files.names().forEach(name -> mapping.modelName(name).ifPresent(mapped -> fileNames.put(mapped, name)));
            if (!fileNames.keySet().equals(own.keySet())) {
                throw new CheckpointException(folder + " has adapters for other projections: the file lacks "
                        + without(own.keySet(), fileNames.keySet()) + " and has unknown "
                        + without(fileNames.keySet(), own.keySet()));
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

    private static List<String> without(Set<String> names, Set<String> others) {
        return names.stream().filter(name -> !others.contains(name)).limit(3).toList();
    }

    /** The trained parameters in the form for libtorch's optimizers. */
    public TensorVector trained() {
        return new TensorVector(parameters().values().toArray(Tensor[]::new));
    }

    private static String lastWord(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }
}
