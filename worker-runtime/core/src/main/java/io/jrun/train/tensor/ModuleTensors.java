package io.jrun.train.tensor;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** The tensors of a module by their dotted names, in registration order, as references that outlive any scope. */
public final class ModuleTensors {
    private ModuleTensors() {}

    /** The parameters. A parameter with several names (tied weights) appears once, under its first name. */
    public static Map<String, Tensor> parameters(Module module) {
        try (StringTensorDict named = module.named_parameters()) {
            return collect(named);
        }
    }

    /** The buffers: state that is not trained, such as running means. */
    public static Map<String, Tensor> buffers(Module module) {
        try (StringTensorDict named = module.named_buffers()) {
            return collect(named);
        }
    }

    /** The parameters, then the buffers. */
    public static Map<String, Tensor> all(Module module) {
        Map<String, Tensor> all = new LinkedHashMap<>(parameters(module));
        buffers(module).forEach(all::putIfAbsent);
        return all;
    }

    private static Map<String, Tensor> collect(StringTensorDict named) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Set<Long> seen = new HashSet<>();
        try (StringVector names = named.keys();
                TensorVector values = named.values()) {
            for (long i = 0; i < names.size(); i++) {
                Tensor borrowed = values.get(i);
                if (seen.add(TensorMemory.identity(borrowed))) {
                    tensors.put(names.get(i).getString(), TensorMemory.own(borrowed));
                }
            }
        }
        return tensors;
    }
}
