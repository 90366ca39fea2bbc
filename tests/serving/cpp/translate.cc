// Translates stdin with a SavedModel, without Python.
//
//   translate EXPORT TENSOR{7} LIBRARY... < LINES
//
// Loads the op libraries, then the SavedModel through the loader that TensorFlow
// Serving uses, and feeds the lines to a signature, as one batch up to each line that
// holds a form feed and nothing else. The tensors are those of its inputs text,
// heuristic and setting and of its outputs iterations, length, score and translation.
// Prints the outputs of each line, tab-separated. A line is a text, or heuristic,
// setting and text with tabs between, in all lines of a batch alike. What is not fed
// has the default that is stored in the graph. A failure prints its code and message
// and exits with 1.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tensorflow/c/c_api.h"

namespace {

constexpr int kFirstTensor = 2, kFirstLibrary = 9;
constexpr int kOutputs = 3;  // Where they begin among the tensors.

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

// Reads the lines of the next batch; false at the end of the input.
bool Read(std::vector<std::string>* lines) {
  lines->clear();
  for (std::string line; std::getline(std::cin, line); lines->push_back(line)) {
    if (line == "\f") return true;
  }
  return !lines->empty();
}

// Translates a batch with the tensors in the order of the command line.
void Translate(TF_Session* session, const std::vector<TF_Output>& tensors,
               const std::vector<std::string>& lines) {
  std::vector<std::string> texts, heuristics;
  std::vector<float> settings;
  for (const std::string& line : lines) {
    const size_t first = line.find('\t');
    if (first == std::string::npos) {
      texts.push_back(line);
      continue;
    }
    heuristics.push_back(line.substr(0, first));
    settings.push_back(std::atof(line.c_str() + first + 1));
    texts.push_back(line.substr(line.find('\t', first + 1) + 1));
  }
  std::vector<TF_Tensor*> fed = {Strings(texts)};
  if (!heuristics.empty()) {
    fed.insert(fed.end(), {Strings(heuristics), Floats(settings)});
  }
  std::vector<TF_Tensor*> values(tensors.size() - kOutputs);
  TF_Status* status = TF_NewStatus();
  TF_SessionRun(session, nullptr, tensors.data(), fed.data(), fed.size(),
                tensors.data() + kOutputs, values.data(), values.size(), nullptr, 0,
                nullptr, status);
  Check(status);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto* text = static_cast<TF_TString*>(TF_TensorData(values[3])) + i;
    std::printf("%d\t%d\t%.6f\t", static_cast<int*>(TF_TensorData(values[0]))[i],
                static_cast<int*>(TF_TensorData(values[1]))[i],
                static_cast<float*>(TF_TensorData(values[2]))[i]);
    std::fwrite(TF_TString_GetDataPointer(text), 1, TF_TString_GetSize(text), stdout);
    std::printf("\n");
  }
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
  std::vector<TF_Output> tensors;
  for (int i = kFirstTensor; i < kFirstLibrary; ++i) {
    const std::string name = argv[i];
    const size_t colon = name.find(':');
    tensors.push_back({TF_GraphOperationByName(graph, name.substr(0, colon).c_str()),
                       std::atoi(name.c_str() + colon + 1)});
  }
  for (std::vector<std::string> lines; Read(&lines);) {
    Translate(session, tensors, lines);
  }
  return 0;
}
