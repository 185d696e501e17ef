package io.jrun.train.checkpoint;

import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Copies saved tensors into a module's parameters and buffers. */
public final class ModelState {
    private ModelState() {}

    /** The module's parameters and buffers by name, not copied. */
    public static Map<String, Tensor> of(Module module) {
        return ModuleTensors.all(module);
    }

    /**
     * Copies values into the module. The module's tensors keep their memory, so optimizers and DDP continue with the
     * same tensors. If one tensor does not fit, the module is unchanged.
     *
     * @throws CheckpointException naming the tensors that are missing, unknown, or of another shape or type
     */
    public static void load(Module module, Map<String, Tensor> saved) {
        Map<String, Tensor> own = of(module);
        checkNames(own.keySet(), saved.keySet());
        own.forEach((name, tensor) -> checkFits(name, tensor, require(saved, name)));
        try (NoGradGuard _ = new NoGradGuard()) {
            own.forEach((name, tensor) -> tensor.copy_(require(saved, name)));
        }
    }

    static void checkFits(String name, Tensor wanted, Tensor saved) {
        String want = TensorMemory.form(wanted);
        String have = TensorMemory.form(saved);
        if (!want.equals(have)) {
            throw new CheckpointException("tensor '" + name + "' is " + have + " in the checkpoint but " + want
                    + " in the program. Use the configuration of the run that saved the checkpoint.");
        }
    }

    private static void checkNames(Set<String> own, Set<String> saved) {
        Set<String> missing = new TreeSet<>(own);
        missing.removeAll(saved);
        Set<String> unknown = new TreeSet<>(saved);
        unknown.removeAll(own);
        if (!missing.isEmpty() || !unknown.isEmpty()) {
            throw new CheckpointException("the checkpoint is of another model: the checkpoint lacks " + missing
                    + " and has unknown " + unknown + ". Use the configuration of the run that saved the checkpoint.");
        }
    }

    private static Tensor require(Map<String, Tensor> saved, String name) {
        Tensor tensor = saved.get(name);
        if (tensor == null) {
            throw new CheckpointException("the checkpoint lacks tensor '" + name + "'");
        }
        return tensor;
    }
}
