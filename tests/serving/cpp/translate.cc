// Translates stdin with a SavedModel, without Python.
//
//   translate EXPORT TENSOR{7} LIBRARY... < LINES
//
// Loads the op libraries, then the SavedModel through the loader that TensorFlow
// Serving uses, and feeds all lines as one batch to a signature. The tensors are
// those of its inputs text, heuristic and setting and of its outputs iterations,
// length, score and translation. Prints the outputs of each line, tab-separated.
// A line is a text, or heuristic, setting and text with tabs between, in all lines
// alike. What is not fed has the default that is stored in the graph. A failure
// prints its code and message and exits with 1.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tensorflow/c/c_api.h"

namespace {

constexpr int kFirstTensor = 2, kFirstLibrary = 9;

void Check(TF_Status* status) {
  if (TF_GetCode(status) == TF_OK) return;
  std::fprintf(stderr, "code %d: %s\n", TF_GetCode(status), TF_Message(status));
  std::exit(1);
}

TF_Tensor* Strings(const std::vector<std::string>& values) {
  const int64_t size = values.size();
  TF_Tensor* tensor =
      TF_AllocateTensor(TF_STRING, &size, 1, size * sizeof(TF_TString));
  auto* data = static_cast<TF_TString*>(TF_TensorData(tensor));
  for (int64_t i = 0; i < size; ++i) {
    TF_TString_Init(&data[i]);
    TF_TString_Copy(&data[i], values[i].data(), values[i].size());
  }
  return tensor;
}

TF_Tensor* Floats(const std::vector<float>& values) {
  const int64_t size = values.size();
  TF_Tensor* tensor = TF_AllocateTensor(TF_FLOAT, &size, 1, size * sizeof(float));
  std::copy(values.begin(), values.end(),
            static_cast<float*>(TF_TensorData(tensor)));
  return tensor;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < kFirstLibrary) return 2;
  TF_Status* status = TF_NewStatus();
  for (int i = kFirstLibrary; i < argc; ++i) {
    TF_LoadLibrary(argv[i], status);
    Check(status);
  }
  TF_Graph* graph = TF_NewGraph();
  const char* tags[] = {"serve"};
  TF_Session* session =
      TF_LoadSessionFromSavedModel(TF_NewSessionOptions(), nullptr, argv[1], tags, 1,
                                   graph, nullptr, status);
  Check(status);
  auto tensor = [&](int number) {
    const std::string name = argv[kFirstTensor + number];
    const size_t colon = name.find(':');
    return TF_Output{TF_GraphOperationByName(graph, name.substr(0, colon).c_str()),
                     std::atoi(name.c_str() + colon + 1)};
  };

  std::vector<std::string> texts, heuristics;
  std::vector<float> settings;
  for (std::string line; std::getline(std::cin, line);) {
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (first != std::string::npos) {
      heuristics.push_back(line.substr(0, first));
      settings.push_back(std::atof(line.c_str() + first + 1));
      line = line.substr(second + 1);
    }
    texts.push_back(line);
  }
  std::vector<TF_Output> inputs = {tensor(0)};
  std::vector<TF_Tensor*> fed = {Strings(texts)};
  if (!heuristics.empty()) {
    inputs.insert(inputs.end(), {tensor(1), tensor(2)});
    fed.insert(fed.end(), {Strings(heuristics), Floats(settings)});
  }
  std::vector<TF_Output> outputs = {tensor(3), tensor(4), tensor(5), tensor(6)};
  std::vector<TF_Tensor*> values(outputs.size());
  TF_SessionRun(session, nullptr, inputs.data(), fed.data(), inputs.size(),
                outputs.data(), values.data(), outputs.size(), nullptr, 0, nullptr,
                status);
  Check(status);

  for (size_t i = 0; i < texts.size(); ++i) {
    const auto* text = static_cast<TF_TString*>(TF_TensorData(values[3])) + i;
    std::printf("%d\t%d\t%.6f\t", static_cast<int*>(TF_TensorData(values[0]))[i],
                static_cast<int*>(TF_TensorData(values[1]))[i],
                static_cast<float*>(TF_TensorData(values[2]))[i]);
    std::fwrite(TF_TString_GetDataPointer(text), 1, TF_TString_GetSize(text), stdout);
    std::printf("\n");
  }
  return 0;
}
